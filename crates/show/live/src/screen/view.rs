//! What all screens have: they pause, show a help, and end what they show.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::text::{Line, Span};

use crate::screen::help;
use crate::screen::style::Styles;

/// A screen. It is fed with updates and keys, and draws itself when its owner says so. All times count from its beginning.
#[derive(Debug)]
pub struct Screen<V: View> {
    model: V::Model,
    /// What is shown instead while the view is paused, and since when.
    paused: Option<(Box<V::Model>, Duration)>,
    view: V,
    is_help_shown: bool,
    pub(crate) styles: Styles,
}

pub trait View: Send + 'static {
    type Model: Clone + Send;
    type Update: Send + 'static;
    /// The name of what it shows: `load`.
    const NAME: &'static str;
    const HELP: &'static [&'static str];

    fn update(model: &mut Self::Model, update: Self::Update);

    /// Takes a key that not all screens have.
    fn key(&mut self, key: KeyCode, model: &Self::Model);

    /// Names these keys, each after two spaces, if a line of this width has room for them.
    fn keys(&self, width: u16) -> String;

    /// Draws all but the help.
    fn draw(&mut self, frame: &mut Frame<'_>, look: &Look<'_, Self::Model>);
}

/// What a frame shows, and how.
#[derive(Debug)]
pub struct Look<'m, Model> {
    pub(crate) model: &'m Model,
    pub(crate) at: Duration,
    pub(crate) keys: Line<'static>,
    pub(crate) styles: Styles,
}

/// A bar for this share of what is done, and words beside it, in a line of this width.
pub(crate) fn bar<'a>(share: f64, text: String, width: u16, styles: Styles) -> Line<'a> {
    let room = usize::from(width).saturating_sub(text.chars().count());
    let columns = room.min(40);
    let filled = (share * columns as f64).round() as usize;
    Line::from(vec![
        Span::styled("█".repeat(filled), styles.accent()),
        Span::styled("░".repeat(columns.saturating_sub(filled)), styles.soft()),
        Span::raw(text),
    ])
}

/// What a key means for the run or the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    None,
    /// End it, and keep what was measured.
    End,
}

impl<V: View> Screen<V> {
    /// Colours only stress what symbols say; without `colour` there are none.
    pub(crate) fn of(model: V::Model, view: V, colour: bool) -> Self {
        Self {
            model,
            paused: None,
            view,
            is_help_shown: false,
            styles: Styles::new(colour),
        }
    }

    pub fn update(&mut self, update: V::Update) {
        V::update(&mut self.model, update);
    }

    /// Takes a key that was pressed. Returns what it means for what the screen shows.
    pub fn key(&mut self, key: KeyEvent, at: Duration) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::None;
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Action::End;
            }
            KeyCode::Char('q') => return Action::End,
            KeyCode::Char('p' | ' ') => self.pause(at),
            KeyCode::Char('?' | 'h') => self.is_help_shown = !self.is_help_shown,
            KeyCode::Esc => self.is_help_shown = false,
            other => self.view.key(other, &self.model),
        }
        Action::None
    }

    fn pause(&mut self, at: Duration) {
        self.paused = match self.paused {
            Some(_) => None,
            None => Some((Box::new(self.model.clone()), at)),
        };
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>, at: Duration) {
        let area = frame.area();
        let keys = self.keys(area.width);
        let (model, at) = match &self.paused {
            Some((model, at)) => (&**model, *at),
            None => (&self.model, at),
        };
        let styles = self.styles;
        let look = Look {
            model,
            at,
            keys,
            styles,
        };
        self.view.draw(frame, &look);
        if self.is_help_shown {
            help::draw(frame, area, V::HELP, styles);
        }
    }

    fn keys(&self, width: u16) -> Line<'static> {
        if self.paused.is_some() {
            let paused = format!("VIEW PAUSED, the {} goes on", V::NAME);
            return Line::from(vec![
                Span::styled(paused, self.styles.selected()),
                Span::raw("  p go on  q end, keep results  ? help"),
            ]);
        }
        let own = self.view.keys(width);
        let keys = format!("q end, keep results  p pause{own}  ? help");
        Line::styled(keys, self.styles.soft())
    }
}
