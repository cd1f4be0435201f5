import { Redis } from 'ioredis'
import type { Subject } from './subject.ts'

/**
 * Moves stock if there is enough. The script stores no log, no reservations and no responses, so it is an upper bound:
 * a complete service that keeps stock in Redis cannot be faster.
 */
const MOVE = `
local available, reserved = tonumber(ARGV[1]), tonumber(ARGV[2])
local row = redis.call('HMGET', KEYS[1], 'available', 'reserved')
if (tonumber(row[1]) or 0) + available < 0 or (tonumber(row[2]) or 0) + reserved < 0 then return 0 end
redis.call('HINCRBY', KEYS[1], 'available', available)
redis.call('HINCRBY', KEYS[1], 'reserved', reserved)
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1`

export interface RedisSubject extends Subject {
  receive(variant: number, quantity: number): Promise<void>
  close(): void
}

export async function redisSubject(url: string): Promise<RedisSubject> {
  const redis = new Redis(url, { lazyConnect: true })
  await redis.connect()
  const script = (await redis.script('LOAD', MOVE)) as string

  async function move(variant: number, available: number, reserved: number): Promise<boolean> {
    return (await redis.evalsha(script, 1, `bench-stock:${variant}`, available, reserved)) === 1
  }

  return {
    async receive(variant, quantity) {
      await move(variant, quantity, 0)
    },
    reserve: async (variant) => ((await move(variant, -1, 1)) ? 'reserved' : undefined),
    end: (variant, _id, how) => move(variant, how === 'DEDUCT' ? 0 : 1, -1),
    close: () => redis.disconnect(),
  }
}
