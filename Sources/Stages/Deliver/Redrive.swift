import Events
import JSON
import PipelineKit

/// A `push.redrive` event, checked: a push of the past that one device is to have once more.
///
/// What applies to a push applies to it, but for two things: that the device itself made the change was settled when the
/// push came first, and an old push never takes the place of one that waits.
struct Redrive: ~Escapable {
    let device: DeviceName
    /// Where the push stood.
    let former: JSONValue
    let push: Push

    @_lifetime(copy event)
    init(_ event: JSONView) throws(Rejection) {
        device = try DeviceName(event.value)
        former = try event.value.required(.redriveOf, .object, "an object")
        let body = try event.value.required(.push, .object, "an object")
        do throws(Rejection) { push = try Push(event.view(of: body), isRedriven: true) } catch {
            throw Rejection(code: error.code, reason: error.reason, path: "push.\(error.path)")
        }
        guard push.user == device.user else {
            throw Rejection(code: "field.value", reason: "the push is another user's", path: "push.user")
        }
    }
}
