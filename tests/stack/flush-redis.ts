import { dirname } from 'node:path'
import type { Redis } from 'ioredis'
import { isGuardedFolder } from './folder.ts'

/** Empties a Redis of a test. @throws Error when its data does not lie in a test's folder: what a wrong address leads to may be somebody's own */
export async function flushTestRedis(redis: Pick<Redis, 'config' | 'flushall'>): Promise<void> {
  const [, dir] = (await redis.config('GET', 'dir')) as string[]
  // A server's data folder lies in the test's.
  if (!isGuardedFolder(dirname(dir))) throw new Error(`refused to empty the Redis whose data lies in ${dir}: that is no folder of a test`)
  await redis.flushall()
}
