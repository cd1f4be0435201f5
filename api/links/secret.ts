import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { LinksConfig } from '../config.ts'
import { createOnce } from '../kit/auth/create-once.ts'

const SECRET_BYTES = 32

/** What short codes are derived with: given, or made on first start of a development machine. All API instances share it. */
export async function linksSecret(secret: LinksConfig['secret']): Promise<string> {
  if (secret.kind === 'given') return secret.value
  return await createOnce(join(secret.home, 'auth', 'links-secret'), async () => randomBytes(SECRET_BYTES).toString('base64url'))
}
