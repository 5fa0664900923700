import { useEffect, useMemo, useState } from 'preact/hooks'
import type { EnvironmentName, SessionView } from '../../wire.ts'
import { Icon } from '../icons.tsx'
import { applyTheme } from '../theme.ts'
import { ChoiceButtons } from '../ui/parts.tsx'
import { type OpenApi, type Operation, operationsOf, resolver } from './document.ts'
import { useCaller } from './key.ts'
import { OperationView } from './operation.tsx'
import { Text } from './text.tsx'

/** The API reference: every operation of the published document, with a form that sends it. */
export function Reference({ document: published }: { document: OpenApi }) {
  const resolve = useMemo(() => resolver(published), [published])
  const operations = useMemo(() => operationsOf(published, resolve), [published, resolve])
  const [words, setWords] = useState('')
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set([location.hash.slice(1)]))
  const [session, setSession] = useState<SessionView>()
  const [environment, setEnvironment] = useState<EnvironmentName>('test')
  const { caller, setKey } = useCaller(session, environment)
  useEffect(() => void readSession().then(setSession), [])
  useEffect(() => {
    const follow = () => setOpened((before) => new Set([...before, location.hash.slice(1)]))
    const target = window.document.getElementById(location.hash.slice(1))
    target?.scrollIntoView()
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const found = operations.filter((operation) => isAbout(operation, words))
  const toggle = (id: string) => (isOpen: boolean) =>
    setOpened((before) => {
      if (before.has(id) === isOpen) return before
      const next = new Set(before)
      if (isOpen) next.add(id)
      else next.delete(id)
      return next
    })
  return (
    <div class="docs">
      <header class="docs-top">
        <a class="brand" href="/">
          <img src="/favicon.svg" alt="" width="28" height="28" />
          Tapeline
        </a>
        <nav aria-label="Main">
          <a href="/guide">Guide</a>
          <a href="/docs" aria-current="page">
            API reference
          </a>
          <a href="/">Dashboard</a>
        </nav>
        <ThemeSwitch />
      </header>
      <aside class="docs-side">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search operations"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        {published.tags.map(({ name }) => (
          <nav key={name} aria-label={name}>
            <h2>{name}</h2>
            {found
              .filter(({ tag }) => tag === name)
              .map(({ id, method, path }) => (
                <a key={id} href={`#${id}`}>
                  <b class={`verb ${method.toLowerCase()}`}>{method}</b> {path}
                </a>
              ))}
          </nav>
        ))}
      </aside>
      <main>
        <h1>API reference</h1>
        <Text>{published.info.description}</Text>
        <section id="key" class="card key">
          <label class="field">
            <span>API key</span>
            <input
              type="password"
              autocomplete="off"
              placeholder="svc_test_…"
              value={caller.key}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
            <small class="muted">
              Kept for this tab.{' '}
              {session?.user == null ? '' : `Without one, requests are sent as ${session.user.email}.`}
            </small>
          </label>
          {session !== undefined && session.environments.length > 1 && (
            <ChoiceButtons
              label="Environment"
              value={environment}
              options={session.environments}
              onChange={setEnvironment}
            />
          )}
        </section>
        {published.tags.map(({ name, description }) => {
          const own = found.filter(({ tag }) => tag === name)
          return (
            own.length > 0 && (
              <section key={name}>
                <h2 class="group">{name}</h2>
                <p class="muted">{description}</p>
                {own.map((operation) => (
                  <OperationView
                    key={operation.id}
                    operation={operation}
                    isOpen={opened.has(operation.id)}
                    onToggle={toggle(operation.id)}
                    caller={caller}
                    resolve={resolve}
                  />
                ))}
              </section>
            )
          )
        })}
        <p class="muted">
          Version {published.info.version} · <a href="/openapi.json">openapi.json</a> ·{' '}
          <a href="/asyncapi.json">asyncapi.json</a> · <a href="/docs/errors">errors</a>
        </p>
      </main>
    </div>
  )
}

function isAbout({ path, summary, description, method }: Operation, words: string): boolean {
  const text = `${method} ${path} ${summary} ${description}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** Undefined for a visitor. */
async function readSession(): Promise<SessionView | undefined> {
  const response = await fetch('/dashboard/api/session', { credentials: 'same-origin' }).catch(
    () => undefined,
  )
  if (!response?.ok) return undefined
  const session = (await response.json()) as SessionView
  return session.user === null ? undefined : session
}

function ThemeSwitch() {
  const [dark, setDark] = useState(window.document.documentElement.dataset.theme === 'dark')
  const flip = () => {
    applyTheme(dark ? 'light' : 'dark')
    setDark(!dark)
  }
  return (
    <button
      type="button"
      class="button ghost"
      aria-label={dark ? 'Light theme' : 'Dark theme'}
      onClick={flip}
    >
      <Icon name={dark ? 'sun' : 'moon'} />
    </button>
  )
}
