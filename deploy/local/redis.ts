import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Component } from './component.ts'
import { isRedisHealthy } from './health.ts'
import { LOOPBACK } from './ports.ts'
import { type ServerPlace, serverComponent } from './server.ts'

/** Time limit for starting. Loading a large append-only file takes seconds; an empty file takes 50 ms. */
const START_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 10_000

/**
 * Below this size, the append-only file is not rewritten. A larger file is rewritten whenever its size has doubled. A
 * rewrite takes a core for one to three seconds. With Redis's default of 64 MB, 1,000 scored payments a second would
 * cause a rewrite every 18 seconds.
 */
const REWRITE_FROM = '512mb'

/**
 * How Redis keeps its data. There are no dumps (`save`), because deleted data that must be erased within an hour would
 * remain in them.
 */
export const PERSISTENCE = { appendonly: 'yes', 'auto-aof-rewrite-min-size': REWRITE_FROM, save: '""' } as const

export interface RedisOptions extends ServerPlace {
  readonly port: number
}

/**
 * Describes a local Redis with an append-only file that is synced every second, so that the views are available
 * immediately after a restart. A crash may lose the last second of changes. Sinks detect this by the position that is
 * stored with each view, and apply the changes again.
 */
export function redisServer(options: RedisOptions): Component {
  const address = `redis://${LOOPBACK}:${options.port}`
  const configFile = join(options.dataDir, 'redis.conf')

  async function prepare() {
    const settings = {
      bind: LOOPBACK,
      port: options.port,
      dir: JSON.stringify(options.dataDir),
      ...PERSISTENCE,
      appendfsync: 'everysec',
      // After kill -9, the last command in the file may be incomplete. Redis drops this command and starts, because a
      // refusal to start would not restore the command.
      'aof-load-truncated': 'yes',
      // The default of ten timer ticks per second costs 1 % of a core on an idle machine.
      hz: 2,
      daemonize: 'no',
      'stop-writes-on-bgsave-error': 'no',
    }
    await writeFile(
      configFile,
      Object.entries(settings)
        .map(([key, value]) => `${key} ${value}\n`)
        .join(''),
    )
    return { command: 'redis-server', args: [configFile] }
  }

  return serverComponent({
    name: 'redis',
    ...options,
    address,
    ports: { REDIS_PORT: options.port },
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    prepare,
    isHealthy: () => isRedisHealthy(address),
  })
}
