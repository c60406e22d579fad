export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Shorter values could not be hidden in the output of agents. */
export const MIN_VALUE_CHARACTERS = 4
