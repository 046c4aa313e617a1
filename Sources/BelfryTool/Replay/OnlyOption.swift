import ArgumentParser
import Replay

/// The value of `--only`.
enum OnlyOption: ExpressibleByArgument {
    case focus(ReplayFocus)
    case stage(String)

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        if parts[0] == "stage" {
            self = .stage(parts[1])
        } else if let subject = ReplayFocus.Subject(rawValue: parts[0]) {
            self = .focus(ReplayFocus(subject, parts[1]))
        } else {
            return nil
        }
    }

    var focus: ReplayFocus? { if case .focus(let focus) = self { focus } else { nil } }
    var stage: String? { if case .stage(let stage) = self { stage } else { nil } }
}
