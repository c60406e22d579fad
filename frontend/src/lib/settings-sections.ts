import {
  Boxes,
  Building2,
  FolderCheck,
  GitBranch,
  Globe,
  GraduationCap,
  Hourglass,
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
  Store,
  Users,
  UsersRound,
  Webhook,
  Zap,
} from 'lucide-react'

/** The settings pages that are open to a role without the permission to change settings. */
export const OWN_SECTIONS: ReadonlySet<string> = new Set([
  'api-keys',
  'browsers',
  'people',
  'teams',
  'organisation',
  'audit',
  'jobs',
  'retention',
  'appearance',
  'about',
])

/** The settings pages in groups, in the order of the navigation. */
export const SETTINGS_GROUPS = [
  {
    label: 'settings.groups.agents',
    sections: [
      { path: 'models', label: 'settings.models', icon: Sparkles },
      { path: 'confirmation', label: 'settings.confirmation', icon: ShieldQuestion },
      { path: 'consents', label: 'settings.consents', icon: FolderCheck },
      { path: 'memory', label: 'settings.memory', icon: NotebookPen },
      { path: 'skills', label: 'settings.skills', icon: GraduationCap },
      { path: 'marketplaces', label: 'settings.marketplaces', icon: Store },
      { path: 'triggers', label: 'settings.triggers', icon: Zap },
    ],
  },
  {
    label: 'settings.groups.connections',
    sections: [
      { path: 'git-hosts', label: 'settings.git_hosts', icon: GitBranch },
      { path: 'secrets', label: 'settings.secrets', icon: LockKeyhole },
      { path: 'mcp-servers', label: 'settings.mcp_servers', icon: Plug },
      { path: 'webhooks', label: 'settings.webhooks', icon: Webhook },
      { path: 'network', label: 'settings.network', icon: Globe },
    ],
  },
  {
    label: 'settings.groups.sandboxes',
    sections: [
      { path: 'sandboxes', label: 'settings.sandboxes', icon: Boxes },
      { path: 'sandbox-images', label: 'settings.sandbox_images', icon: Package },
    ],
  },
  {
    label: 'settings.groups.account',
    sections: [
      { path: 'browsers', label: 'settings.browsers', icon: MonitorSmartphone },
      { path: 'api-keys', label: 'settings.api_keys', icon: KeyRound },
      { path: 'appearance', label: 'settings.appearance', icon: Palette },
    ],
  },
  {
    label: 'settings.groups.installation',
    sections: [
      { path: 'people', label: 'settings.people', icon: Users },
      { path: 'teams', label: 'settings.teams', icon: UsersRound },
      { path: 'organisation', label: 'settings.organisation', icon: Building2 },
      { path: 'audit', label: 'settings.audit', icon: ScrollText },
      { path: 'jobs', label: 'settings.jobs', icon: ListChecks },
      { path: 'retention', label: 'settings.retention', icon: Hourglass },
      { path: 'about', label: 'settings.about', icon: Info },
    ],
  },
] as const

/** All settings pages, in the same order. */
export const SETTINGS_SECTIONS = SETTINGS_GROUPS.flatMap(({ sections }) => [...sections])
