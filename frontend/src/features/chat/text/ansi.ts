// Escape sequences as ECMA-48 has them: CSI …final byte, OSC … BEL or ST, and the two-character ones.
// eslint-disable-next-line no-control-regex -- control characters are what this finds
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g

/**
 * Returns terminal output as plain text: without colours, and without text that `\r` overwrote (progress
 * bars).
 */
export function plainTerminalText(output: string): string {
  return output
    .replace(ESCAPES, '')
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r', line.length - 2) + 1).replace(/\r$/, ''))
    .join('\n')
}
