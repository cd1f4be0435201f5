import { expect, test } from 'vitest'
import { SHIPPED_VERSIONS } from '../../../api/fraud/models/folder.ts'
import declaration from '../../../tools/fraud/train/train.command.ts'

test.each(['my model', 'a/b', 'x'.repeat(51)])(
  'the version %s is rejected before training starts, because no manifest may have it',
  (version) => {
    expect(() => declaration.parse(['--version', version])).toThrow('--version must be 1 to 50 letters')
  },
)

test('with --out, the version of the shipped models is refused, because an API would ignore the models', () => {
  const shipped = SHIPPED_VERSIONS.payment_fraud
  expect(() => declaration.parse(['--out', 'models'])).toThrow(`--out needs a --version other than ${shipped}`)
  expect(() => declaration.parse(['--out', 'models', '--version', shipped])).toThrow('--out needs a --version')
  expect(declaration.parse(['--out', 'models', '--version', 'mine'])).toMatchObject({ out: 'models', version: 'mine' })
})
