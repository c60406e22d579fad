/**
 * Compiled, never run: the hand-written types must name exactly the fields of the generated schema.
 * The schema is looser than docs/protocol.md in places (`metrics`, `execution_status`), so only names are compared.
 */
import type { components } from './schema.gen'
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
  SameFields<own.StartTask, Schemas['StartTaskInfo']>,
  SameFields<own.StartStage, Schemas['StartStage']>,
  SameFields<own.StartError, Schemas['StartError']>,
  SameFields<own.GitChange, Schemas['GitChange']>,
  SameFields<own.GitDiff, Schemas['GitDiff']>,
  SameFields<own.SendMessageReply, Schemas['SendMessageReply']>,
] = [true, true, true, true, true, true, true, true, true, true, true, true, true]
