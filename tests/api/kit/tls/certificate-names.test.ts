import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { certificateNames } from '../../../../api/kit/tls/certificate-names.ts'
import { testAuthority } from '../../../stack/certificates.ts'

const authority = testAuthority('client authority')

test.each([
  ['plain names', { dns: ['a.example'], uri: ['spiffe://b'] }, ['client', 'a.example', 'spiffe://b']],
  ['values that Node quotes', { dns: ['a"b', 'c, DNS:d'] }, ['client', 'a"b', 'c, DNS:d']],
  ['a directoryName that looks like a host name', { directory: ['DNS:payments'], dns: ['a'] }, ['client', 'a']],
  ['a quoted directoryName that ends like the beginning of a host name', { directory: ['x,DNS:'], dns: ['a'] }, ['client', 'a']],
  ['a URI that contains another name', { uri: ['urn:x, DNS:payments'] }, ['client', 'urn:x, DNS:payments']],
])('the names of a certificate with %s are read correctly', (_what, names, expected) => {
  const { cert } = authority.issue({ commonName: 'client', usage: 'client', ...names })
  expect(certificateNames(new X509Certificate(cert))).toEqual(expected)
})
