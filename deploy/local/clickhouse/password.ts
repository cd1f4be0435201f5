import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { createOnce } from '../../../runtime/create-once.ts'
import type { Home } from '../home.ts'

/** The only user of the local ClickHouse. */
export const CLICKHOUSE_USER = 'default'
const PASSWORD_BYTES = 18

/** Returns the password of a stack's ClickHouse. The password is created on first use and survives a reset. */
export function clickhousePassword({ path }: Pick<Home, 'path'>): string {
  return createOnce(join(path, 'auth', 'clickhouse-password'), () => randomBytes(PASSWORD_BYTES).toString('base64url')).trim()
}

/** Compares two passwords in constant time. */
export function isSamePassword(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
