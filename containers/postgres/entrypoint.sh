#!/bin/sh
# Makes the database and its password at the first start. The password lies in /credentials, for the app server.
set -eu

data=/var/lib/postgresql/data
password=/credentials/database-password

if [ ! -s "$password" ]; then
    [ ! -s "$data/PG_VERSION" ] || { echo "$password is missing, but the database has been made. Restore that file." >&2; exit 1; }
    (umask 027; od -An -N32 -tx1 /dev/urandom | tr -d ' \n' > "$password.new")
    chgrp slipway "$password.new"
    mv "$password.new" "$password"
fi

if [ ! -s "$data/PG_VERSION" ]; then
    # In a folder beside it: a first start that is cut off begins again.
    new=$data/unfinished
    rm -rf "$new"
    initdb --pgdata="$new" --username=slipway --pwfile="$password" --auth-local=trust --auth-host=scram-sha-256 \
        --encoding=UTF8 --no-instructions
    echo 'host all all all scram-sha-256' >> "$new/pg_hba.conf"
    echo 'CREATE DATABASE slipway;' | postgres --single -D "$new" postgres
    find "$new" -mindepth 1 -maxdepth 1 ! -name PG_VERSION -exec mv {} "$data/" \;
    mv "$new/PG_VERSION" "$data/"
    rmdir "$new"
fi

exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp
