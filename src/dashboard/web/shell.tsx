import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { NoticeView, SessionView } from '../wire.ts'
import { callSession } from './api.ts'
import { dateTime, planName } from './format.ts'
import { Icon } from './icons.tsx'
import { useSession } from './session.ts'
import { applyTheme } from './theme.ts'
import { Button, ChoiceButtons } from './ui/parts.tsx'
import { AccountPage } from './views/account.tsx'
import { Keys } from './views/keys.tsx'
import { OperatorPage } from './views/operator.tsx'
import { StatusPage } from './views/status.tsx'
import { Usage } from './views/usage.tsx'
import { WebhooksPage } from './views/webhooks.tsx'

const NAMES = [
  ['explorer', 'Explorer'],
  ['keys', 'Keys'],
  ['usage', 'Usage'],
  ['webhooks', 'Webhooks'],
  ['status', 'Status'],
  ['operator', 'Operator'],
] as const

const VIEWS: Record<string, ComponentType> = {
  keys: Keys,
  usage: Usage,
  webhooks: WebhooksPage,
  status: StatusPage,
  operator: OperatorPage,
  account: AccountPage,
}

export function Shell({ path }: { path: string }) {
  const { session, setSession, environment, setEnvironment } = useSession()
  useCurrentSession(setSession)
  const isOperator = session.user?.role === 'operator'
  const [first = ''] = path.split(/[/?]/)
  const active = first in VIEWS && (first !== 'operator' || isOperator) ? first : 'explorer'
  const [menu, setMenu] = useState(false)
  useEffect(() => setMenu(false), [path])
  const View = VIEWS[active]
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={toMain}>
        Skip to content
      </button>
      <header class="top">
        <a class="brand" href="#/explorer">
          <img src="/favicon.svg" alt="" width="28" height="28" />
          Tapeline
        </a>
        <Button look="ghost menu" aria-label="Menu" aria-expanded={menu} onClick={() => setMenu(!menu)}>
          <Icon name={menu ? 'close' : 'menu'} />
        </Button>
      </header>
      <aside class={menu ? 'side open' : 'side'}>
        <nav aria-label="Main">
          {NAMES.filter(([name]) => name !== 'operator' || isOperator).map(([name, label]) => (
            <NavLink key={name} name={name} active={active}>
              {label}
            </NavLink>
          ))}
        </nav>
        <div class="side-foot">
          {session.environments.length > 1 && (
            <ChoiceButtons
              label="Environment"
              value={environment}
              options={session.environments}
              onChange={setEnvironment}
            />
          )}
          <a class="nav-link" href="/guide" target="_blank" rel="noopener">
            <Icon name="docs" />
            Guide
          </a>
          <a class="nav-link" href="/docs" target="_blank" rel="noopener">
            <Icon name="docs" />
            API reference
          </a>
          <NavLink name="account" active={active}>
            <span class="ellipsis">{session.user?.email}</span>
          </NavLink>
          <div class="row between">
            <span class="badge plan">
              {session.plan === null ? session.account?.plan : planName(session.plan)}
            </span>
            <ThemeButton />
          </div>
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        <Notices notices={session.notices} />
        {session.account?.paused_reason !== null && <PausedNote reason={session.account?.paused_reason} />}
        {View === undefined ? <LazyExplorer path={path} /> : <View key={environment} />}
      </main>
    </div>
  )
}

function toMain(): void {
  document.getElementById('main')?.focus()
}

function NavLink(props: { name: string; active: string; children: ComponentChildren }) {
  const isActive = props.name === props.active
  return (
    <a class="nav-link" href={`#/${props.name}`} aria-current={isActive ? 'page' : undefined}>
      <Icon name={props.name} />
      {props.children}
    </a>
  )
}

function ThemeButton() {
  const [dark, setDark] = useState(document.documentElement.dataset.theme === 'dark')
  const flip = () => {
    applyTheme(dark ? 'light' : 'dark')
    setDark(!dark)
  }
  return (
    <Button look="ghost" aria-label={dark ? 'Light theme' : 'Dark theme'} onClick={flip}>
      <Icon name={dark ? 'sun' : 'moon'} />
    </Button>
  )
}

const SESSION_EVERY_MS = 120_000

/** Refreshes the plan, the pause and the operator's notices, so that a page that stays open notices their changes. */
function useCurrentSession(setSession: (session: SessionView) => void): void {
  useEffect(() => {
    let isShown = true
    const timer = setInterval(() => {
      callSession('GET', 'session').then(
        (session) => isShown && setSession(session),
        () => {},
      )
    }, SESSION_EVERY_MS)
    return () => {
      isShown = false
      clearInterval(timer)
    }
  }, [setSession])
}

function Notices({ notices }: { notices: NoticeView[] }) {
  return (
    <>
      {notices.map(({ id, kind, title, text, starts_at, ends_at }) => (
        <section key={id} class="notice" aria-label={kind}>
          <strong>{title}</strong>{' '}
          <span class="muted tiny">
            {dateTime(starts_at)}
            {ends_at === null ? '' : ` – ${dateTime(ends_at)}`} UTC
          </span>
          {text !== '' && <p class="break">{text}</p>}
        </section>
      ))}
    </>
  )
}

function PausedNote({ reason }: { reason: string | undefined }) {
  return (
    <p class="problem" role="status">
      {reason === 'payment_past_due'
        ? 'Your keys are paused: a payment is past due. They work again as soon as it is paid.'
        : 'Your keys are paused by the operator of this service.'}
    </p>
  )
}

/** The chart library is the largest part of the page, so it loads with the explorer. */
export const loadExplorer = () => import('./explorer/explorer.tsx')

function LazyExplorer({ path }: { path: string }) {
  const [View, setView] = useState<ComponentType<{ path: string }>>()
  useEffect(() => {
    loadExplorer().then(({ Explorer }) => setView(() => Explorer))
  }, [])
  return View === undefined ? <p class="boot" aria-busy="true" /> : <View path={path} />
}
