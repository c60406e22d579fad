export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** The shortest allowed value. Shorter values cannot be hidden in the output of agents. */
export const MIN_VALUE_CHARACTERS = 4
