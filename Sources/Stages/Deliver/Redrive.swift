import Events
import JSON
import PipelineKit

/// A parsed `push.redrive` event, which sends an earlier push to one device again.
///
/// The push is treated like a new push, with two exceptions. The device that made the change can get the push, too. The
/// push never replaces a waiting push: if it has to wait while another push with its collapse ID waits already, it ends
/// as superseded, and the other push stays.
struct Redrive: ~Escapable {
    let device: DeviceName
    /// The position of the original push.
    let original: JSONValue
    let push: Push

    @_lifetime(copy event)
    init(_ event: JSONView) throws(Rejection) {
        device = try DeviceName(event.value)
        original = try event.value.required(.redriveOf, .object, "an object")
        let body = try event.value.required(.push, .object, "an object")
        do throws(Rejection) { push = try Push(event.view(of: body), isRedriven: true) } catch {
            throw Rejection(code: error.code, reason: error.reason, path: "push.\(error.path)")
        }
        guard push.user == device.user else {
            throw Rejection(
                code: "field.value", reason: "the push is for another user than the device", path: "push.user")
        }
    }
}
