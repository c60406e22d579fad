export function ConversationsRoute() {
  return null
}
