// Says in one sentence what to install when this Node cannot build the front end. Used by the Makefile.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `Slipway's front end needs Node 20.19 or newer; this is ${process.versions.node}. ` +
      "Debian 12's own package is too old: install Node 20 or 22 from nodejs.org or your version manager.",
  );
  process.exit(1);
}
