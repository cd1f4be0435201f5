import type { ProductIndex } from '../../../api/catalog/search/engine/product-index.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { expectedDataFolder } from '../../../scripts/config.ts'
import { productSourceOf } from '../../../state/indexes/catalog/products.ts'
import { type SearchClient, searchClient } from '../../../state/indexes/client.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { inFolder } from '../../harness/folder.ts'
import { startServers } from '../../harness/servers.ts'
import { appendResults, row } from '../../harness/table.ts'
import { type JudgedQuery, type Judgments, readJudgments } from '../judgments.ts'
import { type Contender, contenders } from './contenders.ts'
import { filledIndex, PRODUCTS_FORM, STOCK_FORM, titleOnly, withDrawnFactors } from './indexes.ts'
import { withMistake } from './mistakes.ts'
import { ndcg } from './ndcg.ts'
import declaration from './run.command.ts'
import { textConstants } from './text-constant.ts'

const LEAST_JUDGMENTS = 3
/** Number of concurrent searches. */
const CONCURRENT = 4
const PERCENT = 100

/** Returns the NDCG@10 of each query; undefined if every order of the products is equally good for the query. */
async function values(contender: Contender, queries: readonly JudgedQuery[], texts: readonly string[]): Promise<(number | undefined)[]> {
  const found: (number | undefined)[] = new Array(queries.length).fill(undefined)
  const waiting = queries.keys()
  await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      for (const at of waiting) found[at] = ndcg(await contender.search(texts[at]), queries[at].gains)
    }),
  )
  return found
}

function mean(all: readonly (number | undefined)[]): number {
  const known = all.filter((value) => value !== undefined)
  return known.reduce((sum, value) => sum + value, 0) / known.length
}

function half(all: readonly (number | undefined)[], rest: 0 | 1): (number | undefined)[] {
  return all.filter((_, at) => at % 2 === rest)
}

function productsOf(
  client: SearchClient,
  name: string,
  titles: Judgments['titles'],
  make: (id: string, title: string) => CatalogDocument,
): Promise<ProductIndex> {
  const documents = new Map([...titles].map(([id, title]) => [id, productSourceOf(make(id, title))]))
  return filledIndex(client, name, PRODUCTS_FORM, documents)
}

async function compareConstants({ titles, queries }: Judgments, url: string): Promise<string[]> {
  const [client, now] = [searchClient(url), Date.now()]
  const lines = await textConstants(await productsOf(client, 'products', titles, (id, title) => titleOnly(id, title, now)), queries, now)
  for (const line of lines) process.stdout.write(`${line}\n`)
  return lines
}

async function measure({ titles, queries }: Judgments, seed: number, url: string): Promise<string[]> {
  const [client, now] = [searchClient(url), Date.now()]
  const stock = await filledIndex(client, 'stock', STOCK_FORM, new Map([...titles].map(([id, title]) => [id, { title }])))
  const products = await productsOf(client, 'products', titles, (id, title) => titleOnly(id, title, now))
  const drawn = await productsOf(client, 'drawn', titles, withDrawnFactors(now))
  const random = seededRandom(seed)
  const texts = queries.map(({ text }) => text)
  const mistaken = texts.map((text) => withMistake(text, random))
  const lines = [
    `${queries.length} queries, ${titles.size} titles. The boosts were chosen on every second query.`,
    '',
    row(['NDCG@10', 'all', 'queries used to choose the boosts', 'the others', 'one mistake in each', 'lost by mistakes']),
    row(['---', '---', '---', '---', '---', '---']),
  ]
  for (const line of lines) process.stdout.write(`${line}\n`)
  for (const contender of contenders(stock, products, drawn, now)) {
    const right = await values(contender, queries, texts)
    const wrong = mean(await values(contender, queries, mistaken))
    const figures = [mean(right), mean(half(right, 0)), mean(half(right, 1)), wrong].map((value) => value.toFixed(4))
    const line = row([contender.name, ...figures, `${((1 - wrong / mean(right)) * PERCENT).toFixed(1)} %`])
    process.stdout.write(`${line}\n`)
    lines.push(line)
  }
  return lines
}

await runMain(async () => {
  const { queries: most, constants, seed, note } = commandLine(declaration)
  const judgments = readJudgments(expectedDataFolder(), LEAST_JUDGMENTS)
  const step = most === 0 ? 1 : Math.max(1, Math.floor(judgments.queries.length / most))
  // The boosts were chosen on every second query. With an even step, the sample would contain no other queries.
  const every = step % 2 === 0 ? step + 1 : step
  const queries = judgments.queries.filter((_, at) => at % every === 0)
  const lines = await inFolder(async (folder) => {
    const servers = await startServers(folder, { names: ['search'] })
    try {
      const url = servers.addresses.search!
      const chosen = { ...judgments, queries }
      return constants ? await compareConstants(chosen, url) : await measure(chosen, seed, url)
    } finally {
      await servers.stop()
    }
  })
  appendResults('bench:search-quality', note, lines)
})
