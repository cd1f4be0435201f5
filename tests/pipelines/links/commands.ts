import type { LinkCommand } from '../../../schemas/links/types.ts'

/** Creates a command, from user 42 by default. */
export function linkCommand(fields: Partial<LinkCommand> = {}): LinkCommand {
  return {
    action: 'create',
    user_id: 42n,
    is_admin: false,
    long_url: 'https://example.com/',
    domain: 'sho.rt',
    analytics: true,
    reuses: false,
    sets_expiry: false,
    expires_at: null,
    is_active: null,
    sets_expired_url: false,
    expired_url: null,
    ...fields,
  }
}
