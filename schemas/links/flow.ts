import type { CommandFlow } from '../commands/topics.ts'
import { linkCommands, linkDecisions } from './topics.ts'
import type { Link, LinkCommand } from './types.ts'

/** The answer to a command about a link. Times are in epoch ms. */
export type LinkAnswer =
  | { readonly outcome: 'created' | 'updated'; readonly link: LinkFields }
  /** `blocked` means that only an administrator can switch the link on again. */
  | { readonly outcome: 'taken' | 'deleted' | 'not_found' | 'forbidden' | 'blocked' }

export type LinkFields = Pick<Link, 'long_url' | 'domain' | 'expires_at' | 'expired_url' | 'created_at' | 'is_active' | 'analytics'>

export const linkFlow: CommandFlow<LinkCommand, Link, LinkAnswer> = { name: 'links', commands: linkCommands, decisions: linkDecisions }
