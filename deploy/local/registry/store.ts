import { RegistryError } from './errors.ts'
import type { SchemasRecord } from './records.ts'
import type { RegistryDeps } from './registry.ts'
import type { SchemasTopic } from './schemas-topic.ts'
import { registryState } from './state.ts'

/** The state, read from the topic to its end, and the way to change it: topic first, then state. */
export async function openStore(topic: SchemasTopic): Promise<RegistryDeps> {
  const state = registryState()
  let lastChange: Promise<unknown> = Promise.resolve()

  await topic.open()
  await topic.catchUp(state.apply)

  /**
   * The state follows the topic and nothing else: after a write it is read back, so that a write with an unknown outcome
   * (time-out after the broker has stored it) is seen before the next change is decided.
   */
  async function write(records: readonly SchemasRecord[]): Promise<void> {
    try {
      await topic.append(records)
      await topic.catchUp(state.apply)
    } catch (error) {
      throw new RegistryError('store', `The schemas topic cannot be written just now: ${(error as Error).message}`)
    }
  }

  function exclusive<T>(change: () => Promise<T>): Promise<T> {
    const next = lastChange.then(async () => {
      await topic.catchUp(state.apply).catch((error: Error) => {
        throw new RegistryError('store', `The schemas topic cannot be read just now: ${error.message}`)
      })
      return change()
    })
    lastChange = next.catch(() => undefined)
    return next
  }

  return { state, write, exclusive }
}
