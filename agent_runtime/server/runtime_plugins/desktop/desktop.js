// Shows the desktop of the sandbox. It is as large as this page, unless the page is too small to work on:
// then the whole of it is shown, scaled down.
import RFB from "./novnc/core/rfb.js";

const SMALLEST_WIDTH = 640;
const screen = document.getElementById("screen");
const notice = document.getElementById("notice");
const words = document.getElementById("words");
const again = document.getElementById("again");
let rfb;

function tell(text, canTryAgain) {
  words.textContent = text;
  again.hidden = !canTryAgain;
  notice.hidden = false;
}

function fit() {
  rfb.resizeSession = innerWidth >= SMALLEST_WIDTH;
}

function connect() {
  tell("Connecting to the desktop…", false);
  const address = new URL("websockify", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.search = "";
  rfb = new RFB(screen, address.href, { shared: true });
  rfb.scaleViewport = true;
  rfb.background = "transparent";
  fit();
  rfb.addEventListener("connect", () => {
    notice.hidden = true;
    document.documentElement.dataset.connected = "true";
    rfb.focus();
  });
  rfb.addEventListener("disconnect", () => {
    delete document.documentElement.dataset.connected;
    tell("The desktop is not connected. If it has ended, open it again in Slipway.", true);
  });
  rfb.addEventListener("clipboard", (event) => {
    navigator.clipboard?.writeText(event.detail.text).catch(() => undefined); // the browser may forbid it
  });
}

addEventListener("resize", fit);
addEventListener("paste", (event) => rfb.clipboardPasteFrom(event.clipboardData.getData("text")));
again.addEventListener("click", connect);
connect();
