/** One conversation: its timeline beside its changes. */
export function ConversationRoute() {
  return null
}
