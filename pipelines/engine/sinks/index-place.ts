import type { SearchClient } from '../../../state/indexes/client.ts'
import { hasForm, type IndexFamily, sinkAlias } from '../../../state/indexes/family.ts'
import { definitionOf, type Index } from '../../../state/indexes/search-index.ts'
import { type IndexWriter, indexWriter } from '../../../state/indexes/writer.ts'
import type { IndexPlace } from './index-target.ts'
import { sharedQuestion } from './shared-question.ts'
import { TargetUnavailableError } from './target.ts'

/** Returns the `IndexPlace` of a sink that updates the index that searches currently use. */
export function searchedIndex<K, V>(index: Index<K, V>, family: IndexFamily, client: SearchClient): IndexPlace {
  const current = sharedQuestion(family.current)
  const definition = definitionOf(index)
  const writers = new Map<string, IndexWriter>()
  const names = new WeakMap<IndexWriter, string>()

  function writerOf(name: string): IndexWriter {
    const writer = writers.get(name) ?? indexWriter(sinkAlias(name), client)
    writers.set(name, writer)
    names.set(writer, name)
    return writer
  }

  return {
    isSearched: true,
    async writer() {
      const found = await current()
      if (found === undefined) throw new TargetUnavailableError(`there is no complete index ${index.name} yet`)
      if (!hasForm(found, index)) {
        throw new TargetUnavailableError(
          `${found.name} was built with a definition (settings, mappings and version) that differs from ${definition}, the definition of this program; the sink waits until it is rebuilt`,
        )
      }
      return writerOf(found.name)
    },
    async isStill(writer) {
      return (await current())?.name === names.get(writer)
    },
  }
}
