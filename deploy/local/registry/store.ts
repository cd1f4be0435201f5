import { RegistryError } from './errors.ts'
import type { SchemasRecord } from './records.ts'
import type { RegistryDeps } from './registry.ts'
import type { SchemasTopic } from './schemas-topic.ts'
import { registryState } from './state.ts'

/**
 * Reads the state from the whole topic. Every later change is written to the topic first and then applied to the state.
 */
export async function openStore(topic: SchemasTopic): Promise<RegistryDeps> {
  const state = registryState()
  let lastChange: Promise<unknown> = Promise.resolve()

  await topic.open()
  await topic.catchUp(state.apply)

  /**
   * Writes records and reads them back, so that the state is always the result of reading the topic. The outcome of a
   * write may be unknown, for example because the request timed out. `exclusive` therefore reads the topic again before
   * the next change is checked.
   */
  async function write(records: readonly SchemasRecord[]): Promise<void> {
    try {
      await topic.append(records)
      await topic.catchUp(state.apply)
    } catch (error) {
      throw new RegistryError('store', `The schemas topic cannot be written at the moment: ${(error as Error).message}`)
    }
  }

  function exclusive<T>(change: () => Promise<T>): Promise<T> {
    const next = lastChange.then(async () => {
      await topic.catchUp(state.apply).catch((error: Error) => {
        throw new RegistryError('store', `The schemas topic cannot be read at the moment: ${error.message}`)
      })
      return change()
    })
    lastChange = next.catch(() => undefined)
    return next
  }

  return { state, write, exclusive }
}
