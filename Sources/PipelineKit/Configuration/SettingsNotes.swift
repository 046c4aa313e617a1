import Synchronization

/// Notes how settings are read, for the manual's page of settings. Only the test of that page sets ``current``; while
/// it is nil, nothing is noted.
package final class SettingsNotes: Sendable {
    package struct Setting: Sendable {
        /// The keys that lead to the setting.
        package let path: String
        package fileprivate(set) var kind = ""
        package fileprivate(set) var range = ""
        /// The default as it would be in a pipeline file; empty if no default was noted. Not every default is noted.
        package fileprivate(set) var standard = ""
        package fileprivate(set) var isRequired = false
    }

    @TaskLocal package static var current: SettingsNotes?

    private let noted = Mutex<[Setting]>([])

    package init() {}

    /// The settings, in the order in which they were first read.
    package var settings: [Setting] { noted.withLock { $0 } }

    fileprivate func change(_ path: String, _ change: (inout Setting) -> Void) {
        noted.withLock { settings in
            let index = settings.firstIndex { $0.path == path } ?? settings.endIndex
            if index == settings.endIndex { settings.append(Setting(path: path)) }
            change(&settings[index])
        }
    }
}

extension SettingsReader {
    /// Notes how a key is read. A nil argument keeps what was noted before.
    func note(
        _ key: String, _ kind: String? = nil, range: @autoclosure () -> String? = nil,
        default standard: @autoclosure () -> String? = nil, isRequired: Bool = false
    ) {
        SettingsNotes.current?.change(path(to: key)) {
            $0.kind = kind ?? $0.kind
            $0.range = range() ?? $0.range
            $0.standard = standard() ?? $0.standard
            $0.isRequired = $0.isRequired || isRequired
        }
    }
}
