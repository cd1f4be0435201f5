import type { TopologyBuilder } from './api.ts'
import { checkName, type Declaration, declare } from './declaration.ts'
import { describeTopology, type TopologyDescription } from './describe.ts'
import { TopologyError } from './errors.ts'
import { type SubTopology, subTopologies } from './sub-topology.ts'
import { checkOptions, type TopologyOptions } from './topology-options.ts'

/**
 * A named flow of sources, processors, stores and outputs. The topology itself has no state, because every task has a
 * separate instance of the flow.
 */
export interface Topology {
  readonly name: string
  readonly options: TopologyOptions
  readonly subTopologies: readonly SubTopology[]
  /** Runs the build function again. The resulting closures and stores belong only to the caller. */
  declare(): Declaration
  describe(): TopologyDescription
}

/**
 * Declares a topology. The build function runs at once, so that mistakes in it are found when the file is loaded. It
 * runs again for every task.
 * @param name the consumer group, and the prefix of every internal topic
 * @throws TopologyError if a name, an option or a combination of declarations is invalid
 */
export function topology(name: string, build: (builder: TopologyBuilder) => void, options: TopologyOptions = {}): Topology {
  checkName('topology', name)
  checkOptions(name, options)
  const declaration = declare(name, build)
  const parts = subTopologies(declaration)

  function declareAgain(): Declaration {
    const again = declare(name, build)
    for (const store of again.stores.values())
      if (store === declaration.stores.get(store.name))
        throw new TopologyError(
          `topology ${name}: the store ${store.name} is created outside of the build function: create it inside, so that each task has a separate store`,
        )
    return again
  }

  return {
    name,
    options,
    subTopologies: parts,
    declare: declareAgain,
    describe: () => describeTopology(declaration, parts),
  }
}
