import type { LinkAnswer, LinkFields } from '../../schemas/links/flow.ts'
import type { Link, LinkCommand } from '../../schemas/links/types.ts'
import type { CommandFacts, Decided } from '../engine/index.ts'

type LinkDecision = Decided<Link, LinkAnswer>

/** Decides a command about a short code. */
export function decideLink(link: Link | undefined, command: LinkCommand, facts: CommandFacts): LinkDecision {
  switch (command.action) {
    case 'create':
      return create(link, command, facts)
    case 'update':
      return whenAllowed(link, command, (own) => update(own, command, facts.now))
    case 'delete':
      return whenAllowed(link, command, (own) => ({
        answer: { outcome: 'deleted' },
        state: { ...own, is_active: false, is_deleted: true },
      }))
  }
}

function isExpired(link: Pick<Link, 'expires_at'>, now: number): boolean {
  return link.expires_at !== null && link.expires_at <= now
}

/**
 * Creates a link. If the code already belongs to an active link of the same user with the same URL, domain and
 * analytics setting, returns that link, provided that the command allows this (`reuses`). A code never gets a different
 * link, even after its link was deleted.
 */
function create(link: Link | undefined, command: LinkCommand, { key, now }: CommandFacts): LinkDecision {
  if (link !== undefined) {
    return command.reuses && isOwnCopy(link, command, now)
      ? { answer: { outcome: 'created', link: fieldsOf(link) } }
      : { answer: { outcome: 'taken' } }
  }
  const { long_url, user_id, domain, expires_at, expired_url, analytics } = command
  const flags = { is_active: true, is_blocked: false, is_expired: false, is_deleted: false }
  const made: Link = { short_code: key, long_url, user_id, domain, expires_at, expired_url, created_at: now, analytics, ...flags }
  return { answer: { outcome: 'created', link: fieldsOf(made) }, state: made }
}

function isOwnCopy(link: Link, command: LinkCommand, now: number): boolean {
  const isAlive = link.is_active && !link.is_deleted && !isExpired(link, now)
  const isSame = link.long_url === command.long_url && link.domain === command.domain && link.analytics === command.analytics
  return isAlive && isSame && link.user_id !== null && link.user_id === command.user_id
}

function isOwner(link: Link, command: LinkCommand): boolean {
  return link.user_id !== null && link.user_id === command.user_id
}

/**
 * Calls `decide` if the caller may change the link; otherwise returns a refusal. Only an administrator may change links
 * of anonymous callers.
 */
function whenAllowed(link: Link | undefined, command: LinkCommand, decide: (link: Link) => LinkDecision): LinkDecision {
  if (link === undefined || link.is_deleted) return { answer: { outcome: 'not_found' } }
  return isOwner(link, command) || command.is_admin ? decide(link) : { answer: { outcome: 'forbidden' } }
}

function update(link: Link, command: LinkCommand, now: number): LinkDecision {
  // The whole command is refused, because the answer `updated` means that all changes of the command were made.
  if (link.is_blocked && command.is_active === true && !command.is_admin) return { answer: { outcome: 'blocked' } }
  const expires_at = command.sets_expiry ? command.expires_at : link.expires_at
  const expired_url = command.sets_expired_url ? command.expired_url : link.expired_url
  const is_active = command.is_active ?? link.is_active
  const updated: Link = {
    ...link,
    expires_at,
    expired_url,
    is_active,
    is_blocked: isBlocked(link, command),
    is_expired: isExpired({ expires_at }, now),
  }
  return { answer: { outcome: 'updated', link: fieldsOf(updated) }, state: updated }
}

/**
 * Returns whether the link is blocked after the command. Only administrators block and unblock. An administrator who
 * switches off one of their own links acts as its owner.
 */
function isBlocked(link: Link, command: LinkCommand): boolean {
  if (!command.is_admin || command.is_active === null) return link.is_blocked
  return !command.is_active && (link.is_blocked || !isOwner(link, command))
}

function fieldsOf({ long_url, domain, expires_at, expired_url, created_at, is_active, analytics }: Link): LinkFields {
  return { long_url, domain, expires_at, expired_url, created_at, is_active, analytics }
}
