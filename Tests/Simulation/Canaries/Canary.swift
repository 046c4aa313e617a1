import PipelineKit
import PipelineRuntime

@testable import PipelineRuntime

/// A pipeline that is broken on purpose. The simulation must detect it.
enum Canary: String, CaseIterable, Sendable {
    /// The deliver stage loses some outcomes.
    case lostOutcome
    /// A link passes some batches on twice.
    case repeatedBatch
    /// The coalesce stage uses the machine's clock.
    case impatientTimer

    /// The beginning of the problem that the simulation must report.
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
