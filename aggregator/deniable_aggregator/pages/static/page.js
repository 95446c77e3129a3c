// Pages work without this script. It sends a form as soon as one of its choices changes.
"use strict";
