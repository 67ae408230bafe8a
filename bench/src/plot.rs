//! Horizontal bars as SVG, written by hand.

use std::fmt::Write as _;

/// A picture of its own.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug)]
pub struct Bar {
    pub label: String,
    pub value: f64,
    pub shown: String,
    /// Of Foreman, and not of what it is compared with.
    pub is_ours: bool,
}

const WIDTH: usize = 960;
/// Where bars begin: the longest label has about 75 characters.
const LEFT: usize = 470;
const ROW: usize = 24;
const TOP: usize = 40;

pub fn bars(Chart { title, bars }: &Chart) -> String {
    let height = TOP + bars.len() * ROW + 12;
    let longest = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#111\">{}</text>\n",
        escaped(title)
    );
    for (place, bar) in bars.iter().enumerate() {
        let y = TOP + place * ROW;
        let width = (bar.value.max(0.0) / longest * (WIDTH - LEFT - 100) as f64).max(1.0);
        let colour = if bar.is_ours { "#2563eb" } else { "#9ca3af" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#111\">{}</text>\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{width:.0}\" height=\"16\" fill=\"{colour}\"/>\
             <text x=\"{:.0}\" y=\"{}\" fill=\"#111\">{}</text>",
            LEFT - 8,
            y + 13,
            escaped(&bar.label),
            y + 1,
            LEFT as f64 + width + 6.0,
            y + 13,
            escaped(&bar.shown)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fills_the_width_and_text_is_escaped() {
        let bar = |label: &str, value| Bar { label: label.into(), value, shown: format!("{value}"), is_ours: false };
        let chart = Chart { title: "a & b".into(), bars: vec![bar("x < y", 100.0), bar("half", 50.0)] };
        let svg = bars(&chart);
        assert!(svg.contains("a &amp; b") && svg.contains("x &lt; y"));
        assert!(svg.contains("width=\"390\"") && svg.contains("width=\"195\""), "{svg}");
    }
}
