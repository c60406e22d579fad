/**
 * Compiled, never run: the hand-written types must name exactly the fields of the generated schema.
 * The schema is looser than docs/protocol.md in places (`metrics`, `execution_status`), so only names are compared.
 */
import type * as checkpoints from './checkpoint-types'
import type { components } from './schema.gen'
import type * as offers from './offers'
import type * as mcp from './mcp-servers'
import type { BrowserTab, BrowserView } from './browser'
import type * as own from './types'

type Schemas = components['schemas']
type SameFields<A, B> = [keyof A, keyof B] extends [keyof B, keyof A] ? true : never

export const checked: [
  SameFields<own.User, Schemas['UserInfo']>,
  SameFields<own.WebClientConfig, Schemas['WebClientConfig']>,
  SameFields<own.LLMProfile, Schemas['LLMProfileInfo']>,
  SameFields<own.LLMProfileList, Schemas['LLMProfiles']>,
  SameFields<own.ApiKey, Schemas['ApiKeyInfo']>,
  SameFields<own.CreatedApiKey, Schemas['CreatedApiKey']>,
  SameFields<own.AppConversation, Schemas['AppConversation']>,
  SameFields<own.Goal, Schemas['ConversationGoal']>,
  SameFields<own.StartTask, Schemas['StartTaskInfo']>,
  SameFields<own.StartStage, Schemas['StartStage']>,
  SameFields<own.StartError, Schemas['StartError']>,
  SameFields<own.GitChange, Schemas['GitChange']>,
  SameFields<own.GitDiff, Schemas['GitDiff']>,
  SameFields<checkpoints.Checkpoint, Schemas['CheckpointInfo']>,
  SameFields<checkpoints.CheckpointList, Schemas['CheckpointList']>,
  SameFields<checkpoints.CheckpointDiff, Schemas['CheckpointDiff']>,
  SameFields<checkpoints.RewindRequest, Schemas['RewindRequest']>,
  SameFields<checkpoints.RewindResult, Schemas['RewindResult']>,
  SameFields<BrowserTab, Schemas['BrowserTab']>,
  SameFields<BrowserView, Schemas['BrowserView']>,
  SameFields<own.SendMessageReply, Schemas['SendMessageReply']>,
  SameFields<own.MemoryNoteSummary, Schemas['MemoryNoteSummary']>,
  SameFields<own.MemoryNote, Schemas['MemoryNoteInfo']>,
  SameFields<own.KnownSkills, Schemas['SkillsResponse']>,
  SameFields<own.Skill, Schemas['SkillInfo']>,
  SameFields<own.SkillInput, Schemas['SkillInputInfo']>,
  SameFields<own.SkillFinding, Schemas['SkillFinding']>,
  SameFields<offers.OfferedFile, Schemas['OfferedFile']>,
  SameFields<offers.Offer, Schemas['Offer']>,
  SameFields<offers.OfferInfo, Schemas['OfferInfo']>,
  SameFields<offers.ConversationConsent, Schemas['ConversationConsent']>,
  SameFields<offers.Consent, Schemas['ConsentInfo']>,
  SameFields<mcp.McpServer, Schemas['McpServerInfo']>,
  SameFields<mcp.McpSettings, Schemas['McpSettings']>,
  SameFields<mcp.McpTool, Schemas['McpToolInfo']>,
  SameFields<mcp.McpTestReport, Schemas['McpTestReport']>,
] = [
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
]
