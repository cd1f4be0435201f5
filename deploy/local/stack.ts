import { chosenServers, ownServers } from './chosen-servers.ts'
import { clickhousePassword } from './clickhouse/password.ts'
import type { Component } from './component.ts'
import type { LocalConfig } from './config.ts'
import type { Home } from './home.ts'
import { apiOperationsUrl, apiProcess, deciderProcess, demoProcess, workerProcess } from './processes.ts'
import type { Progress } from './progress.ts'
import { provisionTopics } from './provision.ts'
import { type RunPart, removeRunFile, writeRunFile } from './run-file.ts'
import type { ServerName } from './server-names.ts'
import { requireGiven, type StackServer, stackServers, withoutPassword } from './servers.ts'
import { supervisor } from './supervisor.ts'
import { workerCounts } from './worker-counts.ts'

/** Creates the stack that `npm start` runs. */
export function localStack(config: LocalConfig, home: Home, progress: Progress) {
  const servers = stackServers(config, home)
  const processes = supervisor((text) => progress.say(`  ${text}`))
  /**
   * The started components in start order, grouped by stage. The components of a stage are started together and stopped
   * together.
   */
  const started: Component[][] = []
  const parts: RunPart[] = []
  let stopping = false
  const provisioning = new AbortController()
  let provisioned: Promise<number> | undefined

  async function up(components: readonly Component[]): Promise<void> {
    if (stopping) throw new Error('stopped')
    const stage: Component[] = []
    started.push(stage)
    await Promise.all(
      components.map(async (component) => {
        stage.push(component)
        await progress.step(
          component.name,
          () => component.start(),
          (how) => `${component.address}${how === 'reused' ? '  (already running)' : ''}`,
        )
        processes.keepRunning(component)
      }),
    )
  }

  async function serversUp(names: readonly ServerName[]): Promise<void> {
    const chosen = names.map((name) => servers[name])
    await Promise.all(
      chosen
        .filter((server) => !server.local)
        .map((server) =>
          progress.step(
            server.name,
            () => requireGiven(server),
            () => `${withoutPassword(server.address)}  (external)`,
          ),
        ),
    )
    await up(chosen.flatMap((server) => server.local ?? []))
    parts.push(...chosen.map(serverPart))
  }

  /** Stops all components in reverse start order, even during a start. External servers are not stopped. */
  async function stop(): Promise<void> {
    stopping = true
    // The creation of topics ends with the request that is in progress. This request ends soon, because the servers are
    // still running.
    provisioning.abort()
    await provisioned?.catch(() => undefined)
    processes.release()
    for (const stage of started.toReversed()) await Promise.all(stage.map((component) => component.stop()))
    removeRunFile(home)
  }

  async function bringUp(): Promise<void> {
    const optional = chosenServers(config)
    const addresses = {
      kafka: servers.kafka.address,
      redis: servers.redis.address,
      clickhouse: servers.clickhouse.address,
      registry: servers.registry.address,
      search: optional.includes('search') ? servers.search.address : undefined,
      clickhousePassword: servers.clickhouse.local && clickhousePassword(home),
    }
    const counts = workerCounts(config)
    const bulk = Array.from({ length: counts.bulk }, (_, slot) => workerProcess(slot, config, home, addresses))
    const deciders = Array.from({ length: counts.deciding }, (_, slot) => deciderProcess(slot, config, home, addresses))
    const workers = [...bulk, ...deciders]
    const apis = Array.from({ length: config.apiProcesses }, (_, index) => apiProcess(index, config, home, addresses))
    const own = [...ownServers(config).flatMap((name) => servers[name].local ?? []), ...workers, ...apis]
    for (const component of own) await component.checkPorts()
    await serversUp(['kafka', 'redis', 'clickhouse', ...optional])
    await serversUp(['registry'])
    await progress.step(
      'topics',
      () => {
        provisioned = provisionTopics(servers.kafka.address, servers.registry.address, config.partitions, undefined, provisioning.signal)
        return provisioned
      },
      (count) => `${count} public topics and their schemas`,
    )
    await up([...workers, ...apis])
    parts.push(
      ...workers.map((worker) => processPart(worker, 'worker')),
      ...apis.map((api, index) => apiPart(api, apiOperationsUrl(index, config))),
    )
    if (config.demo) {
      const demo = demoProcess(config, home, addresses)
      await up([demo])
      parts.push(processPart(demo, 'demo'))
    }
    writeRunFile(home, { pid: process.pid, startedAt: new Date().toISOString(), parts })
  }

  /**
   * Starts the servers, creates the topics, and starts the processes. If a part fails to start, stops all parts and
   * throws the error of that part.
   */
  async function start(): Promise<readonly RunPart[]> {
    try {
      await bringUp()
      return parts
    } catch (error) {
      await stop()
      throw error
    }
  }

  return { start, stop }
}

function serverPart(server: StackServer): RunPart {
  return { name: server.name, kind: server.name, address: server.address, logFile: server.local?.logFile }
}

function apiPart(component: Component, operations: string): RunPart {
  return { name: component.name, kind: 'api', address: component.address, operations, logFile: component.logFile }
}

function processPart(component: Component, kind: 'worker' | 'demo'): RunPart {
  return { name: component.name, kind, address: component.address, logFile: component.logFile }
}
