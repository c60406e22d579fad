/**
 * Compiled, never run: the hand-written types must name exactly the fields of the generated schema.
 * The schema is looser than docs/protocol.md in places (`metrics`, `execution_status`), so only names are compared.
 * Each check stands alone: it does not compile where the names differ, and says so at its own line.
 */
import type * as checkpoints from './checkpoint-types'
import type * as memory from './memory-types'
import type { components } from './schema.gen'
import type * as offers from './offers'
import type * as mcp from './mcp-servers'
import type { ResumeSandbox } from './archives'
import type { BrowserTab, BrowserView } from './browser'
import type { CommitIdentity } from './commit-identity'
import type { GitPush } from './git-changes'
import type { GitCredential } from './git-credentials'
import type { ModelFacts } from './model-facts'
import type * as network from './network'
import type * as networkCredentials from './network-credentials'
import type * as ports from './ports'
import type { ProfileTrial } from './profile-trial'
import type { RuntimePlugin } from './runtime-plugins'
import type { SandboxGrouping } from './sandbox-grouping'
import type * as spending from './spending'
import type * as own from './types'
import type { WaitingMessage } from './waiting-messages'

type Schemas = components['schemas']
type SameFields<A, B> = [keyof A, keyof B] extends [keyof B, keyof A] ? true : false

/** Where a reply has more than the front end reads: what clients of the protocol look for. */
type HasFields<A, B> = [keyof A] extends [keyof B] ? true : false
type OfTheProtocol = 'acp_server' | 'launched_agent_profile'

/** Takes a type only where it is `true`. */
function check<_Holds extends true>(): void {
  // What there is to check has been checked by the compiler.
}

check<SameFields<ResumeSandbox, Schemas['ResumeSandbox']>>()
check<SameFields<RuntimePlugin, Schemas['RuntimePluginInfo']>>()
check<SameFields<SandboxGrouping, Schemas['SandboxGrouping']>>()
check<HasFields<own.User, Schemas['CurrentUserInfo']>>()
check<SameFields<own.SignedInUser, Schemas['SignedInUser']>>()
check<HasFields<own.WebClientConfig, Schemas['WebClientConfig']>>()
check<SameFields<own.LLMProfile, Schemas['LLMProfileInfo']>>()
check<SameFields<ProfileTrial, Schemas['ProfileTrial']>>()
check<SameFields<ModelFacts, Schemas['ModelFacts']>>()
check<SameFields<spending.LimitPerPeriod, Schemas['SetSpendingLimit']>>()
check<SameFields<spending.SpendingLimit, Schemas['SpendingLimit']>>()
check<SameFields<spending.AdministeredLimit, Schemas['AdministeredLimit']>>()
check<SameFields<spending.UserLimit, Schemas['UserLimit']>>()
check<SameFields<spending.SpendingLimits, Schemas['SpendingLimits']>>()
check<SameFields<own.LLMProfileList, Schemas['LLMProfiles']>>()
check<SameFields<own.Person, Schemas['Person']>>()
check<SameFields<own.SignInLink, Schemas['SignInLinkInfo']>>()
check<SameFields<own.ApiKey, Schemas['ApiKeyInfo']>>()
check<SameFields<own.WebSession, Schemas['WebSessionInfo']>>()
check<SameFields<own.CreatedApiKey, Schemas['CreatedApiKey']>>()
check<SameFields<own.AppConversation, Omit<Schemas['AppConversation'], OfTheProtocol>>>()
check<SameFields<own.Goal, Schemas['ConversationGoal']>>()
check<SameFields<own.StartTask, Schemas['StartTaskInfo']>>()
check<SameFields<own.RetryStart, Schemas['RetryStart']>>()
check<SameFields<own.StartStage, Schemas['StartStage']>>()
check<SameFields<own.StartError, Schemas['StartError']>>()
check<HasFields<CommitIdentity, Schemas['SettingsInfo']>>()
check<SameFields<GitPush, Schemas['GitPushInfo']>>()
check<SameFields<GitCredential, Schemas['GitCredentialInfo']>>()
check<SameFields<own.GitChange, Schemas['GitChange']>>()
check<SameFields<own.GitDiff, Schemas['GitDiff']>>()
check<SameFields<checkpoints.Checkpoint, Schemas['CheckpointInfo']>>()
check<SameFields<checkpoints.CheckpointList, Schemas['CheckpointList']>>()
check<SameFields<checkpoints.CheckpointDiff, Schemas['CheckpointDiff']>>()
check<SameFields<checkpoints.RewindRequest, Schemas['RewindRequest']>>()
check<SameFields<checkpoints.RewindResult, Schemas['RewindResult']>>()
check<SameFields<BrowserTab, Schemas['BrowserTab']>>()
check<SameFields<BrowserView, Schemas['BrowserView']>>()
check<SameFields<ports.ListeningPort, Schemas['SandboxPort']>>()
check<SameFields<ports.SandboxPorts, Schemas['SandboxPorts']>>()
check<SameFields<ports.PortLink, Schemas['Link']>>()
check<SameFields<own.SendMessageReply, Schemas['SendMessageReply']>>()
check<SameFields<WaitingMessage, Schemas['WaitingMessage']>>()
check<SameFields<memory.MemoryNoteSummary, Schemas['MemoryNoteSummary']>>()
check<SameFields<memory.MemoryNote, Schemas['MemoryNoteInfo']>>()
check<SameFields<memory.MemoryProposal, Schemas['MemoryProposalInfo']>>()
check<SameFields<own.KnownSkills, Schemas['SkillsResponse']>>()
check<SameFields<own.Skill, Schemas['SkillInfo']>>()
check<SameFields<own.SkillInput, Schemas['SkillInputInfo']>>()
check<SameFields<own.SkillFinding, Schemas['SkillFinding']>>()
check<SameFields<offers.OfferedFile, Schemas['OfferedFile']>>()
check<SameFields<offers.Offer, Schemas['Offer']>>()
check<SameFields<offers.OfferInfo, Schemas['OfferInfo']>>()
check<SameFields<offers.ConversationConsent, Schemas['ConversationConsent']>>()
check<SameFields<offers.Consent, Schemas['ConsentInfo']>>()
check<SameFields<network.ConversationNetwork, Schemas['ConversationNetwork']>>()
check<SameFields<network.RefusedHost, Schemas['RefusedHost']>>()
check<SameFields<network.NetworkAnswer, Schemas['AnswerNetwork']>>()
check<SameFields<network.NetworkSettings, Schemas['NetworkSettings']>>()
check<SameFields<network.RepositoryNetwork, Schemas['RepositoryNetwork']>>()
check<SameFields<network.Occupant, Schemas['OccupantInfo']>>()
check<SameFields<network.NetworkRecord, Schemas['NetworkRecord']>>()
check<SameFields<networkCredentials.NetworkCredential, Schemas['NetworkCredential']>>()
check<SameFields<networkCredentials.NetworkCredentialInput, Schemas['SaveNetworkCredential']>>()
check<SameFields<networkCredentials.NetworkCredentialUse, Schemas['NetworkCredentialUse']>>()
check<SameFields<mcp.McpServer, Schemas['McpServerInfo']>>()
check<SameFields<mcp.McpSettings, Schemas['McpSettings']>>()
check<SameFields<mcp.McpTool, Schemas['McpToolInfo']>>()
check<SameFields<mcp.McpTestReport, Schemas['McpTestReport']>>()
