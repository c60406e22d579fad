export function SettingsRoute() {
  return null
}
