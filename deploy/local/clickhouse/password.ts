import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../home.ts'

/** The only user of the local ClickHouse. */
export const CLICKHOUSE_USER = 'default'
const PASSWORD_BYTES = 18
/** Only the owner may read secrets. */
const PRIVATE_FOLDER_MODE = 0o700
const PRIVATE_FILE_MODE = 0o600

/** Returns the password of a stack's ClickHouse. It is created on first use and survives a reset. */
export function clickhousePassword({ path }: Pick<Home, 'path'>): string {
  const folder = join(path, 'auth')
  const file = join(folder, 'clickhouse-password')
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE })
  try {
    // The flag fails on an existing file. `npm start` holds the lock of the folder, so there is no second writer.
    writeFileSync(file, randomBytes(PASSWORD_BYTES).toString('base64url'), { flag: 'wx', mode: PRIVATE_FILE_MODE })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readFileSync(file, 'utf8').trim()
}

/** Compares in constant time. */
export function isSamePassword(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
