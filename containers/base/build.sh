#!/bin/sh
# Makes the base image of the sandboxes with debootstrap, for machines that reach no image registry.
#
#   containers/base/build.sh [TAG]        TAG defaults to debian:bookworm-slim
#
# Needs root, debootstrap and docker. Does nothing when TAG is there already. The mirrors are those of this
# host's own apt configuration; extra CA certificates of this host (/usr/local/share/ca-certificates: a
# TLS-inspecting proxy) are trusted in the image as well.
set -eu

tag=${1:-debian:bookworm-slim}
suite=bookworm
docker=${DOCKER:-docker}
here=$(cd "$(dirname "$0")" && pwd)
host_certificates=/usr/local/share/ca-certificates
bundle=/etc/ssl/certs/ca-certificates.crt

fail() { echo "$*" >&2; exit 1; }

if "$docker" image inspect "$tag" >/dev/null 2>&1; then
    echo "$tag is there already"
    exit 0
fi
[ "$(id -u)" = 0 ] || fail "making $tag needs root (debootstrap)"
command -v debootstrap >/dev/null || fail "making $tag needs debootstrap: apt-get install debootstrap"

# One line "URI CODENAME" for each archive of the suite that this host's apt knows.
archives=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite="$suite" '$3 == "main" && ($2 == suite || index($2, suite "-") == 1) { print $1, $2 }' | sort -u)
mirror=$(echo "$archives" | awk -v suite="$suite" '$2 == suite { print $1; exit }')
[ -n "$mirror" ] || fail "this host's apt knows no mirror of Debian $suite (run apt-get update, or add one)"

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
trap 'exit 1' HUP INT TERM

echo "debootstrap $suite from $mirror"
debootstrap --variant=minbase --include=ca-certificates "$suite" "$context/rootfs" "$mirror" > "$context/log" 2>&1 || {
    tail -n 20 "$context/log" >&2
    fail "debootstrap failed"
}
rm -rf "$context"/rootfs/var/cache/apt/archives/*.deb "$context"/rootfs/var/lib/apt/lists/* \
    "$context"/rootfs/usr/share/doc/* "$context"/rootfs/usr/share/man/*
tar -C "$context/rootfs" -cf "$context/rootfs.tar" .
rm -rf "$context/rootfs"

echo "$archives" | awk '{ print "deb", $1, $2, "main" }' > "$context/sources.list"
printf '%s\n' 'path-exclude /usr/share/doc/*' 'path-exclude /usr/share/man/*' \
    'path-exclude /usr/share/locale/*' 'path-include /usr/share/locale/en*' 'force-unsafe-io' > "$context/dpkg-slim"
printf '%s\n' 'Acquire::Languages "none";' > "$context/apt-slim"

mkdir "$context/certificates"
touch "$context/certificates/none" # COPY wants a folder that is not empty; only *.crt files count
cp "$here/Dockerfile" "$context/Dockerfile"
if ls "$host_certificates"/*.crt >/dev/null 2>&1; then
    cp "$host_certificates"/*.crt "$context/certificates/"
    # Tools that bring their own list of authorities have to be told of the system's.
    for variable in SSL_CERT_FILE REQUESTS_CA_BUNDLE PIP_CERT NODE_EXTRA_CA_CERTS NPM_CONFIG_CAFILE; do
        echo "ENV $variable=$bundle" >> "$context/Dockerfile"
    done
fi

tar -C "$context" -cf - Dockerfile rootfs.tar sources.list dpkg-slim apt-slim certificates |
    DOCKER_BUILDKIT=0 "$docker" build --quiet --tag "$tag" -
