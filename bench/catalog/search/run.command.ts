import { command } from '../../../scripts/command-line/command.ts'
import { flag, integer, text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:search --',
  description:
    'Measures searches in a large index while products change. Some searches use the search code of the API, which runs in this process without HTTP. Others query the search server directly for the same words. Titles come from MILLRACE_DATA, or from a generator if the data is missing.',
  options: {
    products: integer('Products in the index.', { default: 1_000_000, min: 1_000 }),
    rate: integer('Searches per second.', { default: 50, min: 1 }),
    peak: integer('Searches per second in the measurement of peak load.', { default: 250, min: 1 }),
    changes: integer('Changes per second.', { default: 200, min: 0 }),
    warm: integer('Duration of the warm-up in seconds. The warm-up runs one search at a time.', { default: 60, min: 0 }),
    seconds: integer('Duration of each measurement.', { default: 30, min: 1 }),
    tantivy: flag('Also measures Tantivy with the same products.'),
    folder: text('Keeps the index in this folder. The next run with the same number of products uses it again.', { placeholder: 'FOLDER' }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--products 20000 --seconds 5', 'Runs a short measurement.']],
})
