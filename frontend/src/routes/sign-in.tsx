export function SignInRoute() {
  return null
}
