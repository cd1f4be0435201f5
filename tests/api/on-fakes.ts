import type { ServiceRoutes } from '../../api/kit/service-routes.ts'
import type { TestApp } from './kit/harness.ts'

interface Opened extends Pick<TestApp, 'app'> {
  readonly service: ServiceRoutes
}

/**
 * Opens the API of a service with fake servers. `tests/api/<name>/harness.ts` must export `<name>Api`.
 * @param name a name in api/services.ts
 */
export async function serviceOnFakes(name: string): Promise<Opened> {
  const harness = (await import(`./${name}/harness.ts`)) as Record<string, (() => Promise<Opened>) | undefined>
  const open = harness[`${name}Api`]
  if (open === undefined) throw new Error(`tests/api/${name}/harness.ts exports no ${name}Api`)
  return await open()
}
