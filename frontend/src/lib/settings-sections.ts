import {
  Boxes,
  FolderCheck,
  GitBranch,
  Globe,
  Info,
  KeyRound,
  ListChecks,
  LockKeyhole,
  MonitorSmartphone,
  NotebookPen,
  Palette,
  Package,
  Plug,
  ScrollText,
  ShieldQuestion,
  Sparkles,
  Users,
  Webhook,
} from 'lucide-react'

/** The pages that a role without the permission to change settings may still use. */
export const OWN_SECTIONS: ReadonlySet<string> = new Set([
  'api-keys',
  'browsers',
  'people',
  'audit',
  'jobs',
  'appearance',
  'about',
])

/** The pages of the settings, in order, for all that lead to them. */
export const SETTINGS_SECTIONS = [
  { path: 'models', label: 'settings.models', icon: Sparkles },
  { path: 'confirmation', label: 'settings.confirmation', icon: ShieldQuestion },
  { path: 'consents', label: 'settings.consents', icon: FolderCheck },
  { path: 'secrets', label: 'settings.secrets', icon: LockKeyhole },
  { path: 'git-hosts', label: 'settings.git_hosts', icon: GitBranch },
  { path: 'mcp-servers', label: 'settings.mcp_servers', icon: Plug },
  { path: 'webhooks', label: 'settings.webhooks', icon: Webhook },
  { path: 'network', label: 'settings.network', icon: Globe },
  { path: 'sandbox-images', label: 'settings.sandbox_images', icon: Package },
  { path: 'sandboxes', label: 'settings.sandboxes', icon: Boxes },
  { path: 'api-keys', label: 'settings.api_keys', icon: KeyRound },
  { path: 'browsers', label: 'settings.browsers', icon: MonitorSmartphone },
  { path: 'people', label: 'settings.people', icon: Users },
  { path: 'audit', label: 'settings.audit', icon: ScrollText },
  { path: 'jobs', label: 'settings.jobs', icon: ListChecks },
  { path: 'memory', label: 'settings.memory', icon: NotebookPen },
  { path: 'appearance', label: 'settings.appearance', icon: Palette },
  { path: 'about', label: 'settings.about', icon: Info },
] as const
