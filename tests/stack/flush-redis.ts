import { dirname } from 'node:path'
import type { Redis } from 'ioredis'
import { isGuardedFolder } from './folder.ts'

/**
 * Empties the Redis of a test.
 * @throws Error if its data is not in a test's folder. In that case, the address may be wrong and the Redis may be in
 * real use
 */
export async function flushTestRedis(redis: Pick<Redis, 'config' | 'flushall'>): Promise<void> {
  const [, dir] = (await redis.config('GET', 'dir')) as string[]
  // A server that belongs to a test stores its data inside the test's folder.
  if (!isGuardedFolder(dirname(dir)))
    throw new Error(`refused to empty the Redis with data in ${dir}, because it is not in the folder of a test`)
  await redis.flushall()
}
