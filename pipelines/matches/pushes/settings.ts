import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../../../settings/fragment.ts'
import { addressOf, documented, flag, list } from '../../../settings/variables.ts'

/** Prefix of a secret in the Standard Webhooks specification. It is followed by 24 to 64 bytes in base64. */
const SECRET_PREFIX = 'whsec_'
const MIN_SECRET_BYTES = 24
const MAX_SECRET_BYTES = 64
/**
 * Maximum number of secrets. While the secret is being changed, each message is signed with the old and the new secret.
 */
const MAX_SECRETS = 2
const SECRET_FAULT = `does not consist of ${SECRET_PREFIX} and ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64`

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

const secret = z.string().refine((text) => isSecret(text), SECRET_FAULT)

function isSecret(text: string): boolean {
  const base64 = text.slice(SECRET_PREFIX.length)
  const { length } = Buffer.from(base64, 'base64')
  return text.startsWith(SECRET_PREFIX) && /^[A-Za-z0-9+/]+={0,2}$/.test(base64) && length >= MIN_SECRET_BYTES && length <= MAX_SECRET_BYTES
}

export const pushSettings = settingsFragment({
  variables: {
    MATCH_WEBHOOK_URL: documented(
      addressOf('https', 'http').optional(),
      'address that receives the pushes about matches; without it, workers only log the ids of each push, its match and its users',
    ),
    MATCH_WEBHOOK_SECRET: documented(
      list.pipe(z.array(secret).max(MAX_SECRETS, `has more than ${MAX_SECRETS} secrets`)).optional(),
      `secret that signs pushes about matches: \`${SECRET_PREFIX}\` and ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64; while it is being changed, the new and the old secret, separated by a comma`,
    ),
    MATCH_WEBHOOK_PLAIN_HTTP: documented(
      flag.prefault('0'),
      '1 allows a webhook without TLS on another machine, for networks that encrypt traffic themselves',
    ),
  },
  rules({ MATCH_WEBHOOK_URL, MATCH_WEBHOOK_SECRET, MATCH_WEBHOOK_PLAIN_HTTP }, report) {
    if (MATCH_WEBHOOK_URL === undefined) return
    const { protocol, hostname, username, password } = new URL(MATCH_WEBHOOK_URL)
    if (protocol === 'http:' && !LOOPBACK.test(hostname) && !MATCH_WEBHOOK_PLAIN_HTTP) {
      report('MATCH_WEBHOOK_URL', 'is not encrypted: use https, or http on a loopback address, or set MATCH_WEBHOOK_PLAIN_HTTP=1')
    }
    if (username !== '' || password !== '')
      report('MATCH_WEBHOOK_URL', 'contains a user name or password: remove them; receivers recognise pushes by their signatures')
    if (MATCH_WEBHOOK_SECRET === undefined) {
      report('MATCH_WEBHOOK_SECRET', `is missing: receivers verify pushes with it; set ${SECRET_PREFIX}$(openssl rand -base64 32)`)
    }
  },
  value: (env) => ({
    /** The webhook that receives pushes. If undefined, pushes are only logged. */
    webhook:
      env.MATCH_WEBHOOK_URL === undefined
        ? undefined
        : {
            url: new URL(env.MATCH_WEBHOOK_URL),
            /** The keys that sign the pushes, decoded from base64. */
            secrets: (env.MATCH_WEBHOOK_SECRET ?? []).map((text) => Buffer.from(text.slice(SECRET_PREFIX.length), 'base64')),
          },
  }),
})

export type PushSettings = ValueOf<typeof pushSettings>
