/**
 * Must hold: every alert is valid and has a test in which a real fault makes it fire (`promtool.ts` says how), every
 * metric that an alert or a panel reads is one that the service gives, and the guide says what to do.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { ALERTS_FILE, noPromtool } from './promtool.ts'

const ROOT = join(import.meta.dirname, '../..')
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}
const rules = (parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)

test('the alerts are rules that Prometheus takes', { skip: noPromtool }, () => {
  execFileSync('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', ALERTS_FILE], { stdio: 'pipe' })
})

test('every alert has a severity, a summary, a description and a test in which it fires', () => {
  const tests = globSync('test/{deploy,e2e}/*alerts.test.ts', { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n')
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(critical|warning)$/, alert)
    assert.ok(annotations.summary && annotations.description, alert)
    assert.ok(tests.includes(`alertname: '${alert}'`), `${alert} is not tested`)
  }
})
