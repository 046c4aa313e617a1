import PipelineKit
import PipelineRuntime

@testable import PipelineRuntime

/// A pipeline that is broken on purpose: the simulation must find out.
enum Canary: String, CaseIterable, Sendable {
    /// Deliver forgets an outcome now and then.
    case lostOutcome
    /// A link hands over some batches twice.
    case repeatedBatch
    /// Coalesce takes the time from the machine's clock.
    case impatientTimer

    /// What the simulation must complain of.
    var finding: String {
        switch self {
        case .lostOutcome: "conservation: outcome"
        case .repeatedBatch, .impatientTimer: "replay of notifications"
        }
    }

    var registry: Registry {
        switch self {
        case .lostOutcome: .simulated.with(ForgetfulDeliver.self)
        case .repeatedBatch: .simulated
        case .impatientTimer: .simulated.with(ImpatientCoalesce.self)
        }
    }

    func inlet(_ link: LinkClient, of stage: String) -> (any StageInlet)? {
        self == .repeatedBatch && stage == "coalesce" ? RepeatingInlet(link) : nil
    }
}
