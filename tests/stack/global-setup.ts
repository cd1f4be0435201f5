import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import type { Component } from '../../deploy/local/component.ts'
import { LOOPBACK } from '../../deploy/local/ports.ts'
import { SERVER_NAMES, type ServerName } from '../../deploy/local/server-names.ts'
import { type GuardedFolder, guardedFolder } from './folder.ts'
import { newClickhouse, newKafka, newRedis, newRegistry, newSearch } from './servers.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /**
     * Control address of the shared stack. GET <control>/<part> starts that server if necessary, and returns its
     * address when the server is ready.
     */
    stackControl: string
  }
}

export type StackPart = ServerName

/**
 * Provides the servers that the tests of one project share. Each server starts when a test first requests it, so a run
 * that needs only Redis starts only Redis.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let folder: GuardedFolder | undefined
  const running = new Map<StackPart, Promise<Component>>()

  async function launch(part: StackPart): Promise<Component> {
    folder ??= guardedFolder()
    const component = await create(part, folder.path)
    await component.start()
    return component
  }

  async function create(part: StackPart, path: string): Promise<Component> {
    switch (part) {
      case 'kafka':
        return newKafka(path)
      case 'redis':
        return newRedis(path)
      case 'clickhouse':
        return newClickhouse(path)
      case 'registry':
        return newRegistry(path, (await sharedPart('kafka')).address)
      case 'search':
        return newSearch(path)
    }
  }

  function sharedPart(part: StackPart): Promise<Component> {
    let component = running.get(part)
    if (!component) {
      component = launch(part)
      running.set(part, component)
    }
    return component
  }

  async function answer(part: string, response: ServerResponse): Promise<void> {
    // Each request gets a new connection. A test that runs a command synchronously would not notice that the server has
    // closed an idle connection, and the next request on that connection would fail.
    response.setHeader('connection', 'close')
    try {
      if (!isPart(part)) throw new Error(`unknown part of the test stack: ${part}`)
      response.end((await sharedPart(part)).address)
    } catch (error) {
      response.writeHead(500).end((error as Error).message)
    }
  }

  const control = createServer((request, response) => void answer((request.url ?? '/').slice(1), response))
  await new Promise<void>((resolve) => control.listen(0, LOOPBACK, resolve))
  project.provide('stackControl', `http://${LOOPBACK}:${(control.address() as AddressInfo).port}`)

  return async function teardown() {
    control.closeAllConnections()
    control.close()
    // Waits for servers that are still starting, because otherwise the clean-up would miss them.
    await Promise.allSettled(running.values())
    await folder?.finish()
  }
}

function isPart(text: string): text is StackPart {
  return SERVER_NAMES.includes(text as StackPart)
}
