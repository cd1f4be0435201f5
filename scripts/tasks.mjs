const STACK = ['java', 'maven', 'redis']
const TESTS = [...STACK, 'python', 'chromium']
/**
 * Tasks by name: description, file, and the programs that they need in addition to Node. The options of `x.ts` are
 * declared in `x.command.ts`.
 */
export const TASKS = {
  start: { does: 'starts everything and keeps it running until Ctrl-C', file: 'deploy/local/start.ts', programs: STACK },
  status: { does: 'shows the health, address and lag of each part of the running stack', file: 'deploy/local/status.ts' },
  test: { does: 'runs the checks and tests, or the tests of some paths', file: 'scripts/verify.ts', programs: TESTS },
  'test:chaos': { does: 'injects random faults and compares outputs with the expected ones', file: 'tests/chaos/run.ts', programs: TESTS },
  'test:simulation': { does: 'runs random schedules of a whole cluster on one thread, each from a seed', file: 'tests/simulation/run.ts' },
  'test:soak': { does: 'monitors the memory and open files of workers under steady load', file: 'tests/chaos/soak.ts', programs: STACK },
  demo: { does: 'plays generated events of all services that have a demo', file: 'tools/demo/main.ts' },
  replay: { does: 'replays a file of recorded tweets', file: 'tools/replay/main.ts' },
  topics: { does: 'creates topics and registers schemas on external servers', file: 'deploy/local/topics.ts' },
  dlq: { does: 'lists, shows and replays dead letters', file: 'tools/dlq/main.ts' },
  token: { does: 'prints a token that the local API accepts', file: 'tools/token/main.ts' },
  'package:limits': { does: 'builds and packs the rate limiter for any Hono app', file: 'api/limits/package/build.ts' },
  schemas: {
    does: 'writes the TypeScript types of the Avro schemas and the table of settings in README.md',
    file: 'scripts/schema-types.ts',
  },
  'fraud:train': {
    does: 'trains the default models of fraud scoring on generated payments',
    file: 'tools/fraud/train/train.ts',
    programs: ['python'],
  },
  'fraud:evaluate': {
    does: 'trains a model on recorded payments and reports how many frauds it finds in later payments',
    file: 'tools/fraud/evaluate/evaluate.ts',
    programs: ['python'],
  },
  'bench:engine': {
    does: 'measures the throughput or latency of the engine and a comparable program',
    file: 'bench/engine/run.ts',
    programs: STACK,
  },
  'bench:stores': { does: 'measures what each key costs in a store', file: 'bench/stores.ts' },
  'bench:tables': { does: 'measures large tables in the memory of an API', file: 'bench/tables.ts' },
  'bench:trends': { does: 'measures the pipeline of the trends service', file: 'bench/trends/run.ts', programs: STACK },
  'bench:trends-read': {
    does: 'measures the read side of the trends service',
    file: 'bench/trends-read/run.ts',
    programs: [...STACK, 'wrk'],
  },
  'bench:search': {
    does: 'measures searches in a large index while products change',
    file: 'bench/catalog/search/run.ts',
    programs: STACK,
  },
  'bench:search-quality': {
    does: 'measures how well search ranks products',
    file: 'bench/catalog/search-quality/run.ts',
    programs: STACK,
  },
  'bench:recommendations': {
    does: 'measures lists, events, vectors and memory of recommendations',
    file: 'bench/recommendations/speed/run.ts',
    programs: STACK,
  },
  'bench:recs-quality': {
    does: 'measures how often recommendations name the next item that a user likes',
    file: 'bench/recommendations/quality/run.ts',
  },
  'bench:snippets': { does: 'measures creations, reads and views of snippets', file: 'bench/snippets/run.ts', programs: STACK },
  'bench:languages': { does: 'measures how often the language of a text is detected correctly', file: 'bench/languages/run.ts' },
  'bench:fraud': {
    does: 'measures rules, blocklist, models, profiles and scores of fraud scoring',
    file: 'bench/fraud/run.ts',
    programs: STACK,
  },
  'bench:limits': {
    does: 'measures the speed and accuracy of the rate limits, also with comparable programs',
    file: 'bench/limits/run.ts',
    programs: STACK,
  },
  'bench:restart': { does: 'measures restarts, restores and failovers of workers', file: 'bench/restart/run.ts', programs: STACK },
  'bench:clicks': { does: 'measures the clicks pipeline', file: 'bench/clicks/run.ts', programs: STACK },
  'bench:links': {
    does: 'measures link creation and redirects, and compares the redirects with those of similar programs',
    file: 'bench/links/run.ts',
    programs: STACK,
  },
  'bench:matches': {
    does: 'measures the match feed and its pipelines, also with comparable programs',
    file: 'bench/matches/run.ts',
    programs: STACK,
  },
  'bench:catalog': { does: 'measures the page of a product', file: 'bench/catalog/detail/run.ts', programs: [...STACK, 'wrk'] },
  'bench:inventory': {
    does: 'measures reservations of stock, also with comparable programs',
    file: 'bench/inventory/run.ts',
    programs: STACK,
  },
  'bench:idle': { does: 'measures the CPU and memory of an idle npm start', file: 'bench/idle.ts', programs: STACK },
}
