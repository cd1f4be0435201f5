import { Command } from 'ioredis'
import { type RedisScript, shaOf } from './run-script.ts'

/** The method of `Redis` and `Cluster` that sends commands. */
interface CommandClient {
  sendCommand(command: Command): unknown
}

const READ_HASHES: RedisScript = {
  name: 'read-hashes',
  source: `
local found = {}
for index, key in ipairs(KEYS) do found[index] = redis.call('HGETALL', key) end
return found`,
}

/**
 * Reads all fields of several small hashes with one script, because Redis has no command that reads several hashes. All
 * keys must have the same hash tag. The call bypasses auto-pipelining, which would defer it to the next turn of the
 * event loop.
 */
export async function readHashes(redis: CommandClient, keys: readonly string[]): Promise<Record<string, string>[]> {
  const send = (name: string, script: string) =>
    redis.sendCommand(new Command(name, [script, String(keys.length), ...keys], { replyEncoding: 'utf8' })) as Promise<string[][]>
  let found: string[][]
  try {
    found = await send('evalsha', shaOf(READ_HASHES))
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
    found = await send('eval', READ_HASHES.source)
  }
  return found.map(fieldsOf)
}

/** @param reply field names and values, alternating */
function fieldsOf(reply: readonly string[]): Record<string, string> {
  // A field may have any name, even one that all objects inherit, such as `constructor`.
  const fields: Record<string, string> = Object.create(null)
  for (let index = 0; index < reply.length; index += 2) fields[reply[index]] = reply[index + 1]
  return fields
}
