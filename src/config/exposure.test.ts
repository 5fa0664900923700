import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from './config.ts'
import { exposure } from './exposure.ts'

const of = (env: Record<string, string>) => exposure(loadConfig(env).config)

test('the service is exposed on addresses that others reach, unless TLS or a proxy protects it', () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'tapeline.example.com'])
    assert.match(of({ TAPELINE_HOST: host }) ?? '', /without TLS/, host)
  for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost'])
    assert.equal(of({ TAPELINE_HOST: host }), undefined, host)
  const wide = { TAPELINE_HOST: '0.0.0.0' }
  assert.equal(of({ ...wide, TAPELINE_TLS_CERT: 'c', TAPELINE_TLS_KEY: 'k' }), undefined)
  assert.equal(of({ ...wide, TAPELINE_TRUSTED_PROXIES: '10.0.0.0/8' }), undefined)
  assert.equal(of({ ...wide, TAPELINE_ROLES: 'record,index' }), undefined)
})
