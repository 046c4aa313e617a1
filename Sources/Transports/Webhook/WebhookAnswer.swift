import Events
import Foundation
import FoundationNetworking
import JSON
import PipelineKit
import Time

/// What the result of an attempt means for the push.
extension Result<HTTPAnswer, HTTPFailure> {
    var isRetriable: Bool {
        switch self {
        case .success(let answer): RetryPolicy.isRetriable(answer.status)
        case .failure(.refused): false
        case .failure: true
        }
    }

    /// Whether the server may have got the push but did not answer.
    var isUnanswered: Bool {
        switch self {
        case .failure(.timedOut(wasSent: true)), .failure(.unreachable(_, wasSent: true)): true
        default: false
        }
    }

    func retryAfter(_ now: Instant) -> Duration? {
        guard case .success(let answer) = self else { return nil }
        let date = Date(timeIntervalSince1970: Double(now.microseconds) / 1e6)
        return RetryPolicy.retryAfter(answer.retryAfter, now: date)
    }

    /// The answer if the push is not tried again.
    func answer(to id: Delivery.ID, timeout: Duration) -> TransportAnswer {
        switch self {
        case .success(let answer) where (200..<300).contains(answer.status):
            TransportAnswer(id, .accepted, status: answer.status)
        case .success(let answer):
            TransportAnswer(id, .failed, status: answer.status, reason: answer.reason)
        case .failure(.refused(let address)):
            TransportAnswer(id, .failed, reason: address.refusal, attempts: 0)
        case .failure(let failure):
            TransportAnswer(id, .failed, reason: failure.reason(timeout))
        }
    }

    /// The answer if the push is tried again.
    func deferral(of id: Delivery.ID, until: Instant, timeout: Duration) -> TransportAnswer {
        var answer = answer(to: id, timeout: timeout)
        (answer.outcome, answer.until, answer.mayRepeat) = (.deferred, until, isUnanswered)
        return answer
    }
}

extension HTTPAnswer {
    private static let reasonBytesMax = 256

    /// The `reason` in the body, as in answers of APNs, if this reason is not empty and has at most 256 bytes;
    /// otherwise the status in words. Other parts of the body are left out, because they may contain tokens.
    fileprivate var reason: String {
        var parser = JSONParser()
        let given: String? = body.withUnsafeBytes { body in
            do throws(JSONError) {
                return try parser.parse(body)[.reason]?.string
            } catch {
                return nil
            }
        }
        if let given, !given.isEmpty, given.utf8.count <= Self.reasonBytesMax { return given }
        return HTTPURLResponse.localizedString(forStatusCode: status)
    }
}

extension HTTPFailure {
    fileprivate func reason(_ timeout: Duration) -> String {
        switch self {
        case .timedOut:
            "no answer within \(timeout.formatted(.units(allowed: [.seconds, .milliseconds], width: .narrow)))"
        case .unreachable(let reason, _): reason
        case .refused(let address): address.refusal
        case .cancelled: "cancelled"
        }
    }
}

extension IPAddress {
    /// Why nothing is sent to this address.
    fileprivate var refusal: String { "\(self) is in a private network; to allow this, set privateNetworks: allow" }
}
